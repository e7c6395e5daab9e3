import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { Signal } from '../../cri/index.js';
import { stopSignalNumber } from './stop-signal.js';

describe('the stop signal', () => {
  it.each([
    ['SIGTERM by default', Signal.SIGNAL_RUNTIME_DEFAULT, constants.signals.SIGTERM],
    ['the one that was chosen', Signal.SIGNAL_SIGQUIT, constants.signals.SIGQUIT],
    ['by an older name', Signal.SIGNAL_SIGCLD, constants.signals.SIGCHLD],
  ])('is %s', (_, signal, expected) => {
    expect(stopSignalNumber(signal)).toBe(expected);
  });

  it.runIf(process.platform === 'linux')('may be a real-time signal on Linux', () => {
    expect(stopSignalNumber(Signal.SIGNAL_SIGRTMINPLUS3)).toBe(37);
    expect(stopSignalNumber(Signal.SIGNAL_SIGRTMAXMINUS2)).toBe(62);
    expect(stopSignalNumber(Signal.SIGNAL_SIGRTMAX)).toBe(64);
  });

  it('is rejected when unknown', () => {
    // A number that a newer protocol may define.
    expect(() => stopSignalNumber(999 as Signal)).toThrow('stop signal 999');
  });
});
