import { describe, expect, it } from 'vitest';
import { ApiUnreachable } from './api-error.js';
import { parseWatchEvent, readLines } from './watch-stream.js';

async function lines(chunks: string[], limitBytes = 100): Promise<string[]> {
  const found: string[] = [];
  async function* source(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1');
  }
  for await (const line of readLines(source(), limitBytes)) found.push(line);
  return found;
}

describe('readLines', () => {
  it.each([
    ['one line a chunk', ['a\n', 'b\n'], ['a', 'b']],
    ['several in one', ['a\nb\nc\n'], ['a', 'b', 'c']],
    ['one over several', ['a', 'b', 'c\n'], ['abc']],
    ['ends and beginnings', ['a\nb', 'c\nd', '\n'], ['a', 'bc', 'd']],
    ['empty lines are nothing', ['\n\r\na\n'], ['a']],
    ['a letter split between chunks', ['\xc3', '\xa9\n'], ['é']],
  ])('%s', async (_, chunks, expected) => {
    expect(await lines(chunks)).toEqual(expected);
  });
  it.each([
    ['in one chunk', ['12345678901\n']],
    ['that never ends', ['12345', '67890', '1']],
  ])('rejects a line beyond the limit %s', async (_, chunks) => {
    await expect(lines(chunks, 10)).rejects.toThrow('larger than the limit');
  });
  it('half a line at the end is a broken connection', async () => {
    await expect(lines(['a\nb'])).rejects.toBeInstanceOf(ApiUnreachable);
  });
});

describe('parseWatchEvent', () => {
  it('parses objects, bookmarks and errors', () => {
    expect(parseWatchEvent('{"type":"ADDED","object":{"metadata":{"name":"a"}}}')).toEqual({
      type: 'ADDED',
      object: { metadata: { name: 'a' } },
    });
    expect(parseWatchEvent('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}')).toEqual({
      type: 'BOOKMARK',
      resourceVersion: '7',
    });
    const annotations = '"annotations":{"k8s.io/initial-events-end":"true"}';
    expect(
      parseWatchEvent(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7",${annotations}}}}`),
    ).toEqual({ type: 'BOOKMARK', resourceVersion: '7', initialEventsEnd: true });
    const gone = parseWatchEvent('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}');
    expect(gone).toMatchObject({ type: 'ERROR', error: { code: 410, reason: 'Expired' } });
  });
  it.each(['{', '{"type":"ADDED"}', '{"type":"NEW","object":{}}', 'null'])('rejects %s', (line) => {
    expect(() => parseWatchEvent(line)).toThrow(ApiUnreachable);
  });
});
