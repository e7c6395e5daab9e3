import { expect, it } from 'vitest';
import { parseSource } from '../../kube/manifests/document.js';
import { yamlText } from './yaml-writer.js';

it('a deep list of many members is not made larger by its indents', () => {
  let value: unknown = Array.from({ length: 20_000 }, (_, n) => n % 10);
  for (let n = 0; n < 90; n++) value = { a: value };
  const text = yamlText(value);
  expect(text.length).toBeLessThan(100_000);
  const limits = { maxLength: 1 << 20, maxDepth: 200, maxTokens: 1_000_000 };
  expect(parseSource(text, 'file', limits)[0]?.value).toEqual(value);
});
