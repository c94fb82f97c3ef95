/* graph_nodes.c - walks through a graph and its child graphs. */
#include "graph_nodes.h"

#include <stdlib.h>

#include "ask.h"
#include "result.h"

typedef int visit(CUgraphNode node, CUgraphNodeType type, void *arg);

static int visit_node(CUgraphNode node, visit *each, void *arg)
{
    CUgraphNodeType type;
    CUgraph child;
    int r = spw_result(SPW_ASK(cuGraphNodeGetType, node, &type));
    if (r < 0 || type != CU_GRAPH_NODE_TYPE_GRAPH)
        return r < 0 ? r : each(node, type, arg);
    r = spw_result(SPW_ASK(cuGraphChildGraphNodeGetGraph, node, &child));
    return r < 0 ? r : spw_graph_nodes_each(child, each, arg);
}

int spw_graph_nodes_each(CUgraph graph, visit *each, void *arg)
{
    size_t count = 0;
    int r = spw_result(SPW_ASK(cuGraphGetNodes, graph, NULL, &count));
    if (r < 0 || count == 0)
        return r;
    CUgraphNode *nodes = calloc(count, sizeof(*nodes));
    r = nodes ? spw_result(SPW_ASK(cuGraphGetNodes, graph, nodes, &count)) : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++)
        r = visit_node(nodes[i], each, arg);
    free(nodes);
    return r;
}
