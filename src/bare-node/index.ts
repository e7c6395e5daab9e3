/** A node that is its own cluster. */
export { type BareNodeOptions, runBareNode } from './run-bare-node.js';
