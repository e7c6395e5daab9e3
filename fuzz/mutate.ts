/** Makes inputs: a seed of the target, changed in a few places as decided by the random numbers. */
import type { Random } from './random.js';
import { randomOf } from './random.js';
import type { Target } from './target.js';

const defaultMaxBytes = 8 * 1024;
const defaultFloodBytes = 32 * 1024;
/** Bytes and numbers at which parsers change their mind. */
const edges = [0, 1, 2, 7, 8, 9, 10, 13, 32, 0x7f, 0x80, 0xc0, 0xe0, 0xf0, 0xfe, 0xff];
const numbers = [
  '0',
  '-1',
  '1e9',
  '2147483648',
  '4294967296',
  '9007199254740993',
  '18446744073709551616',
  '1e400',
  'NaN',
  '0x1f',
  '00',
  '.5',
];
const signs = [
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  ':',
  ',',
  '\n',
  ' ',
  '\t',
  '\\',
  '-',
  '&a',
  '*a',
  '<<: *a',
  '|',
  '>',
];
const words = [
  ...numbers,
  ...signs,
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '\u0000',
  '\ud83d\ude00',
  '\ufeff',
];

/** The input of that number; the same for the same seed. */
export function inputOf(target: Target, seed: number, number: number): Buffer {
  const random = randomOf(seed, target.name, number);
  let input = random.pick(target.seeds);
  if (random.oneIn(250)) return flooded(input, target, random);
  const limit = target.maxBytes ?? defaultMaxBytes;
  const changes = random.oneIn(200) ? 0 : 1 + random.below(random.oneIn(4) ? 16 : 4);
  for (let change = 0; change < changes; change++) input = changed(input, target, random, limit);
  return input.length > limit ? input.subarray(0, limit) : input;
}

/** A seed with one word in it again and again: shows what takes longer than linear time. */
function flooded(seed: Buffer, target: Target, random: Random): Buffer {
  const start = random.below(seed.length + 1);
  const own = seed.subarray(start, start + 1 + random.below(24));
  const all = [...words, ...(target.words ?? [])];
  const word = own.length > 0 && random.oneIn(3) ? own : Buffer.from(random.pick(all));
  const limit = Math.max(0, (target.floodBytes ?? defaultFloodBytes) - seed.length);
  const at = random.below(seed.length + 1);
  return Buffer.concat([
    seed.subarray(0, at),
    Buffer.alloc(1 + random.below(limit + 1), word),
    seed.subarray(at),
  ]);
}

type Change = (input: Buffer, target: Target, random: Random, limit: number) => Buffer;

function changed(input: Buffer, target: Target, random: Random, limit: number): Buffer {
  if (input.length === 0) return insertWord(input, target, random, limit);
  return random.pick(weighted)(input, target, random, limit);
}

const flipBit: Change = (input, _, random) => {
  const copy = Buffer.from(input);
  const at = random.below(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
  return copy;
};

const setByte: Change = (input, _, random) => {
  const copy = Buffer.from(input);
  copy[random.below(copy.length)] = random.oneIn(2) ? random.pick(edges) : random.below(256);
  return copy;
};

/** Lengths are numbers of two, three or four bytes. */
const setNumber: Change = (input, _, random) => {
  const copy = Buffer.from(input);
  const size = 1 + random.below(4);
  if (copy.length < size) return copy;
  const value = random.oneIn(2)
    ? random.pick([0, 1, 0x7f, 0x80, 2 ** (8 * size) - 1])
    : random.below(2 ** (8 * size));
  copy.writeUIntBE(Math.min(value, 2 ** (8 * size) - 1), random.below(copy.length - size + 1), size);
  return copy;
};

const removePart: Change = (input, _, random) => {
  const start = random.below(input.length);
  const end = start + 1 + random.below(Math.min(64, input.length - start));
  return Buffer.concat([input.subarray(0, start), input.subarray(end)]);
};

const cutOff: Change = (input, _, random) => input.subarray(0, random.below(input.length));

const repeatPart: Change = (input, _, random, limit) => {
  const start = random.below(input.length);
  const part = input.subarray(start, start + 1 + random.below(Math.min(32, input.length - start)));
  const most = Math.max(1, Math.floor((limit - input.length) / part.length));
  const times = 1 + random.below(random.oneIn(8) ? most : Math.min(8, most));
  const repeated = Buffer.alloc(part.length * times, part);
  return Buffer.concat([input.subarray(0, start), repeated, input.subarray(start)]);
};

const insertWord: Change = (input, target, random) => {
  const own = target.words ?? [];
  const word = own.length > 0 && random.oneIn(2) ? random.pick(own) : random.pick(words);
  const at = random.below(input.length + 1);
  return Buffer.concat([input.subarray(0, at), Buffer.from(word), input.subarray(at)]);
};

/** The beginning of one seed and the end of another. */
const splice: Change = (input, target, random) => {
  const other = random.pick(target.seeds);
  return Buffer.concat([
    input.subarray(0, random.below(input.length + 1)),
    other.subarray(random.below(other.length + 1)),
  ]);
};

/** What stands in one place stands in another, too. */
const copyPart: Change = (input, _, random) => {
  const from = random.below(input.length);
  const part = input.subarray(from, from + 1 + random.below(Math.min(64, input.length - from)));
  const at = random.below(input.length + 1);
  return Buffer.concat([input.subarray(0, at), part, input.subarray(at)]);
};

const swapNumber: Change = (input, _, random) => {
  const text = input.toString('latin1');
  const found = [...text.matchAll(/\d+/g)];
  if (found.length === 0) return input;
  const { 0: digits, index } = random.pick(found);
  return Buffer.from(
    text.slice(0, index) + random.pick(numbers) + text.slice(index + digits.length),
    'latin1',
  );
};

const weighted: readonly Change[] = [
  flipBit,
  flipBit,
  setByte,
  setByte,
  setNumber,
  removePart,
  cutOff,
  repeatPart,
  insertWord,
  insertWord,
  insertWord,
  splice,
  copyPart,
  swapNumber,
];

/** A shorter input with which the same goes wrong, as far as a few hundred tries find one. */
export function shortened(input: Buffer, fails: (candidate: Buffer) => boolean): Buffer {
  let shortest = input;
  let tries = 0;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      if (++tries > 500) return shortest;
      const candidate = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + size)]);
      if (fails(candidate)) shortest = candidate;
      else at += size;
    }
  }
  return shortest;
}
