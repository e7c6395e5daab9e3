import { expect, it } from 'vitest';
import { parseLdd } from './shared-libraries.js';

it('finds the libraries and the loader of each program, and nothing for static ones', () => {
  const text = `/bin/sh:
\tlinux-vdso.so.1 (0x00007ffd2a9f2000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2c80000000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2c80400000)
/bin/busybox:
\tnot a dynamic executable
/bin/odd:
\tlibmissing.so.1 => not found
`;
  expect(parseLdd(text)).toEqual(['/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2']);
});
