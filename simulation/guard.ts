/** Keeps a simulation from the real world: what nodelet's code asks of it fails, and says where. */
import childProcess from 'node:child_process';
import crypto from 'node:crypto';
import dns from 'node:dns/promises';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

/** Waits that a guarded program makes of its own do not hide what follows. */
const shownLines = 8;

type AnyFunction = (...given: unknown[]) => unknown;

/** `guarded` is the directory of the code that is kept. All modules must be loaded before: loading reads files. */
export function keepFromTheRealWorld(guarded: string, onBreach: (what: string) => void): void {
  const refuse = (owner: object, names: readonly string[], what: string): void => {
    for (const name of names) {
      const original: unknown = Reflect.get(owner, name);
      if (typeof original !== 'function') continue;
      // Whatever the function is, it is called as it was.
      const real = original as AnyFunction;
      Reflect.set(owner, name, function guardedCall(this: unknown, ...given: unknown[]) {
        const stack = new Error().stack ?? '';
        if (!stack.includes(guarded)) return real.apply(this, given);
        onBreach(`${what}.${name} was called: ${stack.split('\n').slice(2, shownLines).join(' ')}`);
        throw new Error(`a simulation must not call ${what}.${name}`);
      });
    }
  };
  refuse(Math, ['random'], 'Math');
  refuse(Date, ['now'], 'Date');
  refuse(performance, ['now'], 'performance');
  refuse(globalThis, ['setTimeout', 'setInterval', 'fetch'], 'globalThis');
  refuse(crypto, ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues'], 'crypto');
  refuse(fs, functionsOf(fs), 'fs');
  refuse(fsPromises, functionsOf(fsPromises), 'fs/promises');
  refuse(net, ['connect', 'createConnection', 'createServer'], 'net');
  refuse(http, ['request', 'get', 'createServer'], 'http');
  refuse(dns, ['lookup', 'resolve'], 'dns');
  refuse(childProcess, ['spawn', 'spawnSync', 'fork', 'exec', 'execFile'], 'child_process');
  syncBuiltinESMExports();
}

function functionsOf(module: object): string[] {
  return Object.keys(module).filter((name) => /^[a-z]/.test(name));
}
