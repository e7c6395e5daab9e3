/** The program of one thread with hollow nodes: opens its own fleet, and does what the main thread says. */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../../async/index.js';
import type { HollowControl } from './contracts.js';
import { openFleet } from './open-fleet.js';
import type { ThreadData, ThreadMessage, ThreadRequest } from './thread-messages.js';

export async function runThread(): Promise<void> {
  const port = parentPort;
  if (port === null) return;
  const say = (message: ThreadMessage): void => port.postMessage(message);
  // The main thread starts this program with such data, and nobody else can.
  const { settings } = workerData as ThreadData;
  const control = await openFleet(settings, (nodeName, message) =>
    say({ kind: 'problem', nodeName, message }),
  );
  port.on('message', (request: ThreadRequest) => {
    answer(control, request).then(
      (value) => {
        say({ kind: 'answer', id: request.id, value });
        // With its port the thread has nothing left to wait for.
        if (request.call === 'stop') port.close();
      },
      (error: unknown) => say({ kind: 'failure', id: request.id, message: errorText(error) }),
    );
  });
  say({ kind: 'open' });
}

async function answer(control: HollowControl, request: ThreadRequest): Promise<unknown> {
  switch (request.call) {
    case 'add':
      return control.add(request.nodes);
    case 'act':
      return control.act(request.action, request.names, request.keepsNodes);
    case 'report':
      return control.report();
    case 'stop':
      return control.stop(request.deletesNodes);
  }
}

if (!isMainThread) await runThread();
