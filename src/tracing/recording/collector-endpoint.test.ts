import { expect, it } from 'vitest';
import { collectorServer } from './collector-endpoint.js';

it.each([
  ['localhost:4317', { host: 'localhost', port: 4317 }],
  ['collector', { host: 'collector', port: 443 }],
  [':4317', { host: 'localhost', port: 4317 }],
  ['[::1]:4317', { host: '::1', port: 4317 }],
  ['dns:///collector.example:4317', { host: 'collector.example', port: 4317 }],
  ['dns://1.1.1.1/collector:4317', { host: 'collector', port: 4317 }],
  ['dns:collector:4317', { host: 'collector', port: 4317 }],
  ['unix:///run/otel.sock', '/run/otel.sock'],
  ['unix:otel.sock', 'otel.sock'],
  ['unix-abstract:otel', '\0otel'],
])('%s', (endpoint, expected) => expect(collectorServer(endpoint)).toEqual(expected));
