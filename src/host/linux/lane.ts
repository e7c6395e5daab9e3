/** A dedicated thread for system calls that may not return. */
import { Worker } from 'node:worker_threads';

/**
 * The thread's source, as text so that it works however nodelet is packaged. It only makes the calls it is
 * sent, one after another; the caller decides what they are for.
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

/** A call of Node's file system module without its `Sync`, or one the thread implements. */
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

type LaneResult =
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
      // Descriptors are handed out and must outlive the thread that opened them.
      trackUnmanagedFds: false,
      // The thread holds a few hundred names at a time; the defaults would reserve memory for a whole
      // program.
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
    this.#worker.on('message', (answer: LaneResult) => {
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

  /** Makes one call at a time. Keeps the process alive until it returns, unless the lane is abandoned. */
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

  /** Calls back when the thread is running, possibly at once. */
  onceReady(call: () => void): void {
    if (this.#isReady) call();
    else this.#onReady = call;
  }

  /** Whether the thread has died by itself, for example out of memory. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** Lets the process exit whatever the lane is doing. */
  leave(): void {
    this.#worker.unref();
  }

  /** Only for an idle lane. */
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
