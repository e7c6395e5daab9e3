/** Reads the inputs of the command line: manifest files, directories, URLs and standard input. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../async/index.js';
import { errorText } from '../../async/index.js';
import { getManifest } from '../../pods/sources/get-manifest.js';
import { manifestLimitBytes } from '../../pods/sources/source.js';
import { isAddress } from './input-address.js';
import { emptyContent, type ManifestContent, readManifestText } from './manifest.js';

export interface InputContext {
  readonly clock: Clock;
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly signal: AbortSignal;
}

const urlTimeoutMs = 30_000;
/** Files of a directory that are manifests. */
export const manifestNames = /\.(ya?ml|json)$/i;

/** Reads all inputs. Adds an input that cannot be read to the problems, and continues. */
export async function readInputs(inputs: readonly string[], context: InputContext): Promise<ManifestContent> {
  const content = emptyContent();
  const fail = (file: string, message: string): void =>
    void content.problems.push({ file, line: 0, column: 0, field: '', message });
  for (const input of inputs) {
    const shown = shownInput(input);
    try {
      for (const { file, text } of await readInput(input, context)) readManifestText(text, file, content);
    } catch (error) {
      if (context.signal.aborted) throw error;
      fail(shown, inputProblem(error));
    }
  }
  return content;
}

/** Explains network errors in words. */
function inputProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return `nothing listens there (${errorText(error)})`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `cannot resolve the name of the server (${errorText(error)})`;
  return errorText(error);
}

interface ManifestText {
  readonly file: string;
  readonly text: string;
}

async function readInput(input: string, context: InputContext): Promise<ManifestText[]> {
  if (input === '-') return [{ file: 'stdin', text: await readStream(context.stdin) }];
  if (isUrl(input)) return [{ file: shownInput(input), text: await readUrl(input, context) }];
  if (isAddress(input)) throw new Error('only http:// and https:// addresses can be read');
  const info = await stat(input).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      error.code === 'ENOENT' ? 'there is no such file or directory' : `cannot be read: ${error.message}`,
      { cause: error },
    );
  });
  if (!info.isDirectory()) return [{ file: input, text: await readStream(createReadStream(input)) }];
  const names = (await readdir(input)).filter((name) => !name.startsWith('.') && manifestNames.test(name));
  if (names.length === 0)
    throw new Error('there is no manifest in this directory; manifests end in .yaml, .yml or .json');
  const texts: ManifestText[] = [];
  for (const name of names.sort()) {
    const file = path.join(input, name);
    if ((await stat(file)).isFile()) texts.push({ file, text: await readStream(createReadStream(file)) });
  }
  return texts;
}

function isUrl(input: string): boolean {
  return /^https?:\/\//i.test(input);
}

/** The input without the password of a URL. */
export function shownInput(input: string): string {
  if (!isUrl(input) || !URL.canParse(input)) return input;
  const url = new URL(input);
  if (url.password !== '') url.password = 'xxxxx';
  return url.href;
}

async function readUrl(url: string, { clock, signal }: InputContext): Promise<string> {
  if (!URL.canParse(url)) throw new Error('this is not a URL');
  const response = await getManifest({
    clock,
    url,
    headers: {},
    timeoutMs: urlTimeoutMs,
    limitBytes: manifestLimitBytes,
    signal,
  });
  if (response.status !== 200) throw new Error(`the server responded with ${response.statusText}`);
  const text = response.body.toString('utf8');
  if (/^\s*<(!doctype|html|\?xml)/i.test(text))
    throw new Error(
      'the server responded with a web page; use the address of the file itself, which pages often call "raw"',
    );
  return text;
}

async function readStream(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes >= manifestLimitBytes) throw tooLong();
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLong(): Error {
  return new Error(`it reaches the limit of ${manifestLimitBytes} bytes; split it`);
}
