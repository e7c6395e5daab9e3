/** A node that is its own cluster. */
export { type BareNodeOptions, type ReadyNode, runBareNode } from './run-bare-node.js';
