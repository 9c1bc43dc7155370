// Ranks of a directed graph: the first step of a layered layout.

/**
 * Longest path from the sources, sources then moved next to their first consumer; edges against a cycle are ignored.
 *
 * @param next [nodes] the nodes that edges of each lead to.
 */
export function ranks(next) {
  const count = next.length;
  const state = new Uint8Array(count);
  const back = new Set();
  const sorted = [];
  for (let start = 0; start < count; start += 1) {
    if (state[start]) continue;
    const stack = [[start, 0]];
    state[start] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [node, edge] = top;
      if (edge < next[node].length) {
        top[1] += 1;
        const to = next[node][edge];
        if (state[to] === 1) back.add(node * count + to);
        else if (!state[to]) {
          state[to] = 1;
          stack.push([to, 0]);
        }
      } else {
        state[node] = 2;
        sorted.push(node);
        stack.pop();
      }
    }
  }
  sorted.reverse();
  const rank = new Int32Array(count);
  const before = new Int32Array(count);
  const forward = (node) => next[node].filter((to) => !back.has(node * count + to));
  for (const node of sorted) {
    for (const to of forward(node)) {
      rank[to] = Math.max(rank[to], rank[node] + 1);
      before[to] += 1;
    }
  }
  for (const node of sorted.reverse()) {
    const after = forward(node);
    if (!before[node] && after.length) rank[node] = Math.min(...after.map((to) => rank[to])) - 1;
  }
  return rank;
}
