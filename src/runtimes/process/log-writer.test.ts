import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detectFormat } from '../../runtime/logs/format.js';
import { createStamps } from '../stamps.js';
import { LogWriter } from './log-writer.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'nodelet-log-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the log', () => {
  it('has one record a line, in the format that its reader knows', () => {
    const path = join(directory, 'main', '0.log');
    const log = new LogWriter(
      path,
      createStamps(() => 1_700_000_000_000),
    );
    log.open();
    log.write('stdout', Buffer.from('out\nrest'));
    log.write('stderr', Buffer.from('err\n'));
    log.end('stdout');
    log.close();
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    expect(lines).toEqual([
      '2023-11-14T22:13:20.000000000Z stdout F out',
      '2023-11-14T22:13:20.000000001Z stderr F err',
      '2023-11-14T22:13:20.000000002Z stdout F rest',
    ]);
    expect(detectFormat(Buffer.from(`${lines[0]}\n`))).toBe('cri');
    expect(statSync(path).mode & 0o777).toBe(0o644 & ~process.umask());
    expect(log.lostRecords).toBe(0);
  });

  it('goes to the new file once it is opened again', () => {
    const path = join(directory, '0.log');
    const log = new LogWriter(path, createStamps(Date.now));
    log.open();
    log.write('stdout', Buffer.from('before\n'));
    renameSync(path, `${path}.old`);
    log.write('stdout', Buffer.from('still before\n'));
    log.open();
    log.write('stdout', Buffer.from('after\n'));
    log.close();
    expect(readFileSync(`${path}.old`, 'utf8')).toMatch(/F before\n.* F still before\n$/);
    expect(readFileSync(path, 'utf8')).toMatch(/^\S+ stdout F after\n$/);
  });

  it.runIf(process.platform === 'linux')('that cannot be written counts what is lost', () => {
    const log = new LogWriter('/dev/full', createStamps(Date.now));
    log.open();
    log.write('stdout', Buffer.from('a\nb\n'));
    log.close();
    log.write('stdout', Buffer.from('c\n'));
    expect(log.lostRecords).toBe(3);
  });

  it('without a path drops everything', () => {
    const log = new LogWriter('', createStamps(Date.now));
    log.open();
    log.write('stdout', Buffer.from('a\n'));
    log.close();
    expect(log.lostRecords).toBe(0);
  });
});
