/** A stand-in for logind on a real bus, with the real `systemd-inhibit`, keeps the contract. */
import { systemClock } from '../../src/async/index.js';
import { busLogind } from '../../src/node/shutdown/bus-logind.js';
import { startDbusDaemon } from '../env/dbus.js';
import { startTestLogind } from '../env/logind.js';
import { listProcesses, signalProcess } from '../env/processes.js';
import { startTestSystemd } from '../env/systemd-service.js';
import { CleanupStack } from '../env/tempdir.js';
import { logindContract } from './logind-contract.js';

logindContract('on a real bus', async () => {
  const cleanups = new CleanupStack();
  const daemon = await startDbusDaemon({ cleanups });
  const { environment } = daemon;
  const logind = await startTestLogind({ environment, cleanups });
  let nextDelayMs = 5_000;
  await startTestSystemd({
    environment,
    cleanups,
    onKill: async (unit, signal) => {
      if (unit === 'systemd-logind.service' && signal === 1) await logind.setInhibitDelayMaxMs(nextDelayMs);
    },
  });
  return {
    logind: busLogind({ clock: systemClock, environment }),
    heldLocks: async () => {
      const locks = await logind.locks();
      const wanted = 'shutdown kubelet Kubelet needs time to handle node shutdown delay';
      if (locks.some((lock) => lock !== wanted)) throw new Error(`other locks: ${locks.join(', ')}`);
      return locks.length;
    },
    prepare: (isBegun) => logind.prepare(isBegun),
    setNextDelayMs: (delayMs) => {
      nextDelayMs = delayMs;
    },
    loseBus: () => daemon.kill(),
    killHolders: async () => {
      for (const { pid, parentPid, argv } of listProcesses())
        if (parentPid === process.pid && argv[0] === 'systemd-inhibit') signalProcess(pid, 'SIGKILL');
    },
    close: () => cleanups.run(),
  };
});
