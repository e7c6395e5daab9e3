/** A flexVolume driver of tests: it binds a directory, notes each call, and misbehaves on demand. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const home = path.dirname(process.argv[1]);
const [operation = '', target = '', options = '{}'] = process.argv.slice(2);
const answer = (status, more = {}, exitCode = 0) => {
  process.stdout.write(JSON.stringify({ status, ...more }));
  process.exitCode = exitCode;
};

appendFileSync(path.join(home, 'calls.jsonl'), `${JSON.stringify(process.argv.slice(2))}\n`);
const orders = path.join(home, 'orders.json');
const order = existsSync(orders) ? JSON.parse(readFileSync(orders, 'utf8'))[operation] : undefined;

switch (order?.does ?? operation) {
  case 'says':
    process.stdout.write(order.text);
    process.exitCode = order.exitCode ?? 0;
    break;
  case 'floods':
    process.stdout.write('x'.repeat(order.bytes));
    break;
  case 'init':
    answer('Success', { capabilities: { attach: false } });
    break;
  case 'mount':
    execFileSync('mount', ['--bind', JSON.parse(options).source, target]);
    answer('Success');
    break;
  case 'unmount':
    execFileSync('umount', [target]);
    answer('Success');
    break;
  default:
    answer('Not supported', {}, 1);
}
writeFileSync(path.join(home, 'last'), operation);
