import { mkdtempSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detectFormat } from '../../runtime-manager/logs/format.js';
import { createStamps } from '../stamps.js';
import { ContainerLogWriter } from './container-log-writer.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'nodelet-log-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the log', () => {
  it('has one record per line, in the format that its reader knows', () => {
    const path = join(directory, 'main', '0.log');
    const log = new ContainerLogWriter(
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

  it('goes to the new file once reopened', () => {
    const path = join(directory, '0.log');
    const log = new ContainerLogWriter(path, createStamps(Date.now));
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

  it.runIf(process.platform === 'linux')('counts what could not be written', () => {
    const log = new ContainerLogWriter('full', createStamps(Date.now), {
      open: () => openSync('/dev/full', 'a'),
    });
    log.open();
    log.write('stdout', Buffer.from('a\nb\n'));
    log.close();
    log.write('stdout', Buffer.from('c\n'));
    expect(log.lostRecords).toBe(3);
  });

  describe('on a disk that refuses', () => {
    const stamp = () => 1_700_000_000_000_000_000n;
    const line = (text: string, stream = 'stdout') => `2023-11-14T22:13:20.000000000Z ${stream} F ${text}\n`;
    /** A disk with room for this many bytes. */
    const diskOf = (code: string) => {
      const disk = { roomBytes: Number.POSITIVE_INFINITY };
      const write = (file: number, bytes: Buffer, at: number): number => {
        if (disk.roomBytes === 0) throw Object.assign(new Error(`${code}: refused`), { code });
        const written = writeSync(file, bytes, at, Math.min(bytes.length - at, disk.roomBytes));
        disk.roomBytes -= written;
        return written;
      };
      return { disk, write };
    };

    it.each(['ENOSPC', 'EIO'])('keeps whole records, counts the others and reports them once: %s', (code) => {
      const path = join(directory, '0.log');
      const { disk, write } = diskOf(code);
      const log = new ContainerLogWriter(path, stamp, { write });
      log.open();
      log.write('stdout', Buffer.from('one\n'));
      disk.roomBytes = line('two').length + 5;
      log.write('stdout', Buffer.from('two\nthree\n'));
      log.write('stdout', Buffer.from('four\n'));
      expect(readFileSync(path, 'utf8')).toBe(line('one') + line('two'));
      expect(log.lostRecords).toBe(2);
      disk.roomBytes = 10;
      log.write('stderr', Buffer.from('five\n'));
      expect(readFileSync(path, 'utf8')).toBe(line('one') + line('two'));
      disk.roomBytes = Number.POSITIVE_INFINITY;
      log.write('stdout', Buffer.from('six\n'));
      log.write('stdout', Buffer.from('seven\n'));
      log.close();
      const lostBytes = line('three').length + line('four').length + line('five', 'stderr').length;
      const notice = `nodelet: 3 records (${lostBytes} bytes) of this log were lost here: ${code}`;
      expect(readFileSync(path, 'utf8')).toBe(
        line('one') + line('two') + line(notice, 'stderr') + line('six') + line('seven'),
      );
      expect(log.lostRecords).toBe(3);
    });

    it('also reports losses at the end of the output', () => {
      const path = join(directory, '0.log');
      const { disk, write } = diskOf('ENOSPC');
      const log = new ContainerLogWriter(path, stamp, { write });
      log.open();
      disk.roomBytes = 0;
      log.write('stdout', Buffer.from('one\n'));
      disk.roomBytes = Number.POSITIVE_INFINITY;
      log.close();
      expect(readFileSync(path, 'utf8')).toBe(
        line(`nodelet: 1 records (${line('one').length} bytes) of this log were lost here: ENOSPC`, 'stderr'),
      );
    });
  });

  it('without a path drops everything', () => {
    const log = new ContainerLogWriter('', createStamps(Date.now));
    log.open();
    log.write('stdout', Buffer.from('a\n'));
    log.close();
    expect(log.lostRecords).toBe(0);
  });
});
