/** One thread of its own for calls to the kernel that may not come back. */
import { Worker } from 'node:worker_threads';

/**
 * What the thread runs. It is kept as text, so that it is there however nodelet was packed, and does nothing but make the
 * calls that it is sent, one after another: what they are for is decided outside.
 */
const threadSource = `
'use strict';
const { parentPort } = require('node:worker_threads');
const fs = require('node:fs');
const directories = new Map();
const kinds = [['isDirectory', 'directory'], ['isSymbolicLink', 'symlink'], ['isSocket', 'socket'], ['isFIFO', 'fifo'],
  ['isCharacterDevice', 'character-device'], ['isBlockDevice', 'block-device']];
const kindOf = (entry) => (kinds.find(([is]) => entry[is]()) || ['', 'file'])[1];
const listed = (number) => {
  const directory = directories.get(number);
  if (directory === undefined) throw Object.assign(new Error('EBADF: the directory is no longer listed'), { code: 'EBADF' });
  return directory;
};
const calls = {
  read(descriptor, lengthBytes, position) {
    const bytes = new Uint8Array(lengthBytes);
    return bytes.subarray(0, fs.readSync(descriptor, bytes, 0, lengthBytes, position));
  },
  realpath: (path) => fs.realpathSync.native(path),
  opendir(path, number) {
    directories.set(number, fs.opendirSync(path, { bufferSize: 256 }));
  },
  nextEntries(number, limit) {
    const directory = listed(number);
    const entries = [];
    while (entries.length < limit) {
      const entry = directory.readSync();
      if (entry === null) break;
      entries.push({ name: entry.name, kind: kindOf(entry) });
    }
    return entries;
  },
  closedir(number) {
    listed(number).closeSync();
    directories.delete(number);
  },
};
parentPort.on('message', ({ call, inputs }) => {
  let answer;
  try {
    answer = { value: (calls[call] || fs[call + 'Sync'])(...inputs) };
  } catch ({ message, code, errno, syscall }) {
    answer = { failure: { message, code, errno, syscall } };
  }
  parentPort.postMessage(answer);
});
`;

/** A call of Node's file system module without its `Sync`, or one that the thread knows. */
export type LaneCall =
  | 'open'
  | 'close'
  | 'fstat'
  | 'fsync'
  | 'read'
  | 'write'
  | 'opendir'
  | 'nextEntries'
  | 'closedir'
  | 'stat'
  | 'lstat'
  | 'statfs'
  | 'readFile'
  | 'writeFile'
  | 'mkdir'
  | 'readdir'
  | 'symlink'
  | 'readlink'
  | 'realpath'
  | 'rename'
  | 'unlink'
  | 'rmdir'
  | 'chmod'
  | 'lchown';

type Answer =
  | { readonly value: unknown }
  | { readonly failure: Readonly<Record<'message' | 'code' | 'errno' | 'syscall', unknown>> };

export class Lane {
  readonly #worker: Worker;
  #settle: { resolve: (value: unknown) => void; reject: (error: Error) => void } | undefined;
  #failure: Error | undefined;
  #isReady = false;
  #onReady: (() => void) | undefined;

  constructor() {
    this.#worker = new Worker(threadSource, {
      eval: true,
      // Descriptors are handed out, and must outlive the thread that opened them.
      trackUnmanagedFds: false,
      // It holds a few hundred names at a time; the defaults would reserve as much as for a program.
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
      stdin: false,
      env: {},
      execArgv: [],
    });
    this.#worker.unref();
    this.#worker.once('online', () => {
      this.#isReady = true;
      this.#onReady?.();
    });
    this.#worker.on('message', (answer: Answer) => {
      if ('failure' in answer) this.#end()?.reject(revived(answer.failure));
      else this.#end()?.resolve(answer.value);
    });
    const onEnd = (error: Error): void => {
      this.#failure ??= error;
      this.#end()?.reject(error);
    };
    this.#worker.on('error', onEnd);
    this.#worker.on('exit', () => onEnd(new Error('the thread for file calls has ended')));
  }

  /** One call at a time. Keeps the process alive until it comes back, unless the lane is left behind. */
  call(call: LaneCall, inputs: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      if (this.#settle !== undefined) throw new Error('a lane makes one call at a time');
      this.#settle = { resolve, reject };
      this.#worker.ref();
      this.#worker.postMessage({ call, inputs });
    });
  }

  /** Calls back when the thread runs, which may be now. */
  onceReady(call: () => void): void {
    if (this.#isReady) call();
    else this.#onReady = call;
  }

  /** Whether it has ended by itself, as a thread without memory does. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** Whatever it is doing no longer keeps the process alive. */
  leave(): void {
    this.#worker.unref();
  }

  /** Only for a lane that makes no call. */
  end(): void {
    void this.#worker.terminate();
  }

  #end() {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#worker.unref();
    return settle;
  }
}

function revived({ message, ...facts }: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(String(message)), facts);
}
