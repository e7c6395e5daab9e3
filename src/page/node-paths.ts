/** Which requests the page may make of the node: what it shows, and a command in a container. Nothing else passes. */

/** The segments below `/node`; `*` stands for a name. */
const read: readonly (readonly string[])[] = [
  ['pods'],
  ['healthz'],
  ['configz'],
  ['api', 'info'],
  ['stats', 'summary'],
  ['debug', 'watch'],
  ['debug', 'timeline'],
  ['debug', 'describe', 'node'],
  ['debug', 'what-if', 'evict'],
  ['debug', 'what-if', 'gc'],
  ['debug', 'what-if', 'shutdown'],
  ['containerLogs', '*', '*', '*'],
];
const opened: readonly (readonly string[])[] = [['exec', '*', '*', '*']];

export type NodeRequest = 'read' | 'open' | 'refuse';

export function nodeRequest(segments: readonly string[]): NodeRequest {
  const fits = (pattern: readonly string[]): boolean =>
    pattern.length === segments.length &&
    pattern.every((part, at) => (part === '*' ? isName(segments[at] ?? '') : part === segments[at]));
  if (read.some(fits)) return 'read';
  return opened.some(fits) ? 'open' : 'refuse';
}

/** Names of pods, namespaces and containers; none that a path could be climbed with. */
function isName(text: string): boolean {
  return /^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$/.test(text) && text.length <= 253;
}
