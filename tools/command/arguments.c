/* arguments.c - interprets the name of an argument, and finds a text's first sentence. */
#include <ctype.h>
#include <string.h>

#include "texts.h"

enum argument argument_kind(const char *name)
{
    static const struct {
        const char *word;
        enum argument kind;
    } words[] = {{"COMMAND", ARGUMENT_COMMAND}, {"TRACE", ARGUMENT_TRACE}, {"PID", ARGUMENT_PID}, {"FILE", ARGUMENT_FILE}};
    char lower[2];
    if (!name)
        return ARGUMENT_NONE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(name, words[i].word) && !*argument_words(name, lower, sizeof(lower)))
            return words[i].kind;
    return ARGUMENT_OTHER;
}

const char *argument_words(const char *name, char *ret_words, size_t size)
{
    size_t length = 0;
    ret_words[0] = 0;
    for (const char *at = name; at && *at; at += *at == '|') {
        size_t word = strcspn(at, "[|"), piece = strcspn(at, "|");
        if (islower((unsigned char)*at) && length < size)
            length += (size_t)snprintf(ret_words + length, size - length, "%s%.*s", length ? " " : "", (int)word, at);
        at += piece;
    }
    return ret_words;
}

const char *first_sentence(const char *text, char *ret_sentence, size_t size)
{
    const char *stop = text ? strstr(text, ". ") : NULL;
    snprintf(ret_sentence, size, "%.*s", stop ? (int)(stop - text) : (int)size, text ? text : "");
    return ret_sentence;
}
