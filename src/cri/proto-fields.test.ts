import { expect, it } from 'vitest';
import { ContainerStatus, Mount, RuntimeFeatures, Signal } from './gen/cri.js';
import { observeContainerStatus } from './observed.js';

/** One field with its number as it is on the wire. */
const field = (number: number, wireType: 0 | 2, ...bytes: number[]): Uint8Array =>
  Uint8Array.from([(number << 3) | wireType, ...bytes]);

it('keeps the options of a mount in field 11', () => {
  const option = new TextEncoder().encode('noexec');
  const wire = field(11, 2, option.length, ...option);
  expect(Mount.decode(wire).mountOptions).toEqual(['noexec']);
});

it('keeps whether the runtime takes them in field 3', () => {
  expect(RuntimeFeatures.decode(field(3, 0, 1)).mountOptions).toBe(true);
});

it('reads signal 23 as the SIGTERM of the pod API', () => {
  expect(Signal.SIGNAL_SIGTERM).toBe(23);
  const status = ContainerStatus.create({ stopSignal: 23 });
  expect(observeContainerStatus(status).stopSignal).toBe('SIGTERM');
});
