/** Clients of the kubelet API that come and go: exec, logs, port-forward and statistics, some of which break off in the middle. */
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Step } from '../plan/steps.js';

export type ClientStep = Extract<Step, { readonly kind: 'client' }>;

/** A client that is not answered gives up. */
const patienceMs = 15_000;
/** More is not needed to know that it answers. */
const mostHeard = 1024;
const pages = [
  '/stats/summary',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/resource',
  '/pods',
  '/runningpods/',
];

/** Whether it was answered. That it was not is no fault of the agent's while runtime, disk or pod are away. */
export function visit(step: ClientStep, apiUrl: string, shownName: string): Promise<boolean> {
  const place = `default/${shownName}`;
  switch (step.client) {
    case 'exec': {
      // It ends by itself, as a command whose client is gone runs on.
      const seconds = Math.max(1, Math.round(step.lastsMs / 1000));
      const script = `i=0; while [ $i -lt ${seconds} ]; do echo line $i; i=$((i+1)); sleep 1; done`;
      const query = new URLSearchParams([
        ...['sh', '-c', script].map((word): [string, string] => ['command', word]),
        ['input', '1'],
        ['output', '1'],
        ['error', '1'],
      ]);
      return converse(`${apiUrl}/exec/${place}/app?${query}`, 'v5.channel.k8s.io', step);
    }
    case 'port-forward':
      return converse(
        `${apiUrl}/portForward/${place}?port=9000`,
        'v4.channel.k8s.io',
        step,
        Buffer.from('\0hello'),
      );
    case 'logs':
      return read(`${apiUrl}/containerLogs/${place}/app?follow=${step.breaksOff}&tailLines=50`, step);
    case 'stats':
      return read(`${apiUrl}${pages[Math.floor(step.lastsMs) % pages.length]}`, step);
  }
}

async function converse(url: string, protocol: string, step: ClientStep, says?: Buffer): Promise<boolean> {
  const socket = new WebSocket(url.replace(/^https/, 'wss'), protocol, {
    rejectUnauthorized: false,
    handshakeTimeout: patienceMs,
  });
  let heard = '';
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    // A close follows every error.
    socket.on('error', () => undefined);
  });
  socket.on('message', (data: Buffer) => {
    if (heard.length < mostHeard) heard += data.toString('latin1');
  });
  socket.on('open', () => {
    if (says !== undefined) socket.send(says);
  });
  const timeout = new AbortController();
  const lasts = sleep(step.lastsMs, undefined, { signal: timeout.signal }).catch(() => undefined);
  await Promise.race([closed, lasts]);
  if (step.breaksOff) socket.terminate();
  else if (step.client === 'port-forward') socket.close();
  const insist = setTimeout(() => socket.terminate(), patienceMs);
  await closed;
  clearTimeout(insist);
  timeout.abort();
  return heard.includes(says === undefined ? 'line 0' : says.subarray(1).toString());
}

function read(url: string, { lastsMs, breaksOff }: ClientStep): Promise<boolean> {
  return new Promise((resolve) => {
    let isAnswered = false;
    const asking = request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      isAnswered = response.statusCode === 200;
      response.on('error', () => undefined);
      response.resume();
    });
    const timer = setTimeout(() => asking.destroy(), breaksOff ? lastsMs : patienceMs);
    // A close follows every error.
    asking.on('error', () => undefined);
    asking.on('close', () => {
      clearTimeout(timer);
      resolve(isAnswered);
    });
    asking.end();
  });
}
