/** The name of the node in the scenarios, for programs that run without the test runner as well. */
export const nodeName = 'node-a';
