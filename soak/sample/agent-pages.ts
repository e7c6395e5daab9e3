/** What the agent says about itself: the counts of its calls from its metrics, and its heap from the gauge inside it. */
import { connect } from 'node:net';

export interface CallCounts {
  /** To the runtime since the process began, by method. */
  readonly runtime: Readonly<Record<string, number>>;
  /** To the API server since the process began, by verb. */
  readonly api: Readonly<Record<string, number>>;
}

export interface GaugeAnswer {
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly externalBytes: number;
  readonly arrayBufferBytes: number;
  readonly rssBytes: number;
  readonly loopDelayMs: number;
  readonly loopDelayMaxMs: number;
  /** What keeps the event loop alive, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

const patienceMs = 10_000;
const snapshotPatienceMs = 120_000;
const longestAnswer = 64 * 1024;

/** `undefined` when it does not answer. */
export async function readCalls(readOnlyUrl: string): Promise<CallCounts | undefined> {
  try {
    const response = await fetch(`${readOnlyUrl}/metrics`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(patienceMs),
    });
    return callsOf(await response.text());
  } catch {
    // It is down, or busy; the sample has no such figures.
    return undefined;
  }
}

export function callsOf(page: string): CallCounts {
  return {
    runtime: sumBy(page, 'kubelet_runtime_operations_total', 'operation_type'),
    api: sumBy(page, 'rest_client_requests_total', 'method'),
  };
}

function sumBy(page: string, family: string, label: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const line of page.split('\n')) {
    if (!line.startsWith(`${family}{`)) continue;
    const key = new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1];
    const value = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (key !== undefined && Number.isFinite(value)) sums[key] = (sums[key] ?? 0) + value;
  }
  return sums;
}

/**
 * `collect` collects garbage first; `snapshot` also writes all of the heap to a file beside the socket. `undefined` when the
 * agent does not answer.
 */
export function askGauge(
  socketPath: string,
  word: 'read' | 'collect' | 'snapshot',
): Promise<GaugeAnswer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    let text = '';
    socket.setEncoding('utf8');
    socket.setTimeout(word === 'snapshot' ? snapshotPatienceMs : patienceMs, () => socket.destroy());
    // A close follows every error.
    socket.on('error', () => undefined);
    socket.on('data', (more: string) => {
      text += more;
      if (text.length > longestAnswer) socket.destroy();
    });
    socket.on('close', () => resolve(text.endsWith('\n') ? JSON.parse(text) : undefined));
    socket.write(`${word}\n`);
  });
}
