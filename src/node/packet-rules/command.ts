/** The packet filter of this machine, by the programs of the system. */
import { execFile } from 'node:child_process';
import { Cancelled } from '../../async/index.js';
import type { RunPacketCommand } from './packet-rules.js';

const outputLimitBytes = 1 << 20;
/** Where the programs are, also for an agent that was started with a short path. */
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const runPacketCommand: RunPacketCommand = (command, arguments_, signal) =>
  new Promise((resolve, reject) => {
    const env = { PATH: [process.env.PATH ?? [], systemPath].flat().join(':'), LC_ALL: 'C' };
    const options = { env, maxBuffer: outputLimitBytes, killSignal: 'SIGKILL', signal } as const;
    execFile(command, [...arguments_], options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (signal.aborted) reject(new Cancelled());
      else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
      else reject(new Error(`cannot run ${command}: ${error.message}`, { cause: error }));
    });
  });
