/** The signal that asks a container to end. */
import { constants } from 'node:os';
import { CriError, Signal } from '../../cri/index.js';

/** Linux's lowest and highest real-time signals as programs see them; other systems have none. */
const lowestRealTime = 34;
const highestRealTime = 64;

const names = new Map<number, string>(
  Object.entries(Signal).map(([name, value]) => [value, name.replace('SIGNAL_', '')]),
);

/** This machine's number of a CRI signal; SIGTERM when none was chosen. */
export function stopSignalNumber(signal: Signal): number {
  const name = names.get(signal) ?? '';
  if (name === 'RUNTIME_DEFAULT') return constants.signals.SIGTERM;
  const known: Readonly<Record<string, number>> = constants.signals;
  const number = known[aliases.get(name) ?? name] ?? realTimeSignal(name);
  if (number === undefined) {
    throw new CriError(
      'InvalidArgument',
      `stop signal ${name || signal}: there is no such signal on ${process.platform}`,
    );
  }
  return number;
}

const aliases: ReadonlyMap<string, string> = new Map([['SIGCLD', 'SIGCHLD']]);

function realTimeSignal(name: string): number | undefined {
  const match = /^SIGRT(MIN|MAX)(?:(?:PLUS|MINUS)(\d+))?$/.exec(name);
  if (match === null || process.platform !== 'linux') return undefined;
  const distance = Number(match[2] ?? 0);
  return match[1] === 'MIN' ? lowestRealTime + distance : highestRealTime - distance;
}
