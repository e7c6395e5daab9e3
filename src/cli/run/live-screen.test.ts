import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { LiveScreen } from './live-screen.js';

class FakeTerminal extends EventEmitter {
  columns = 40;
  rows = 10;
  text = '';
  write(text: string): void {
    this.text += text;
  }
  /** How many frames were drawn. */
  get frames(): number {
    return this.text.split('\u001b[?7l').length - 1;
  }
}

it('draws at most five frames a second', async () => {
  const clock = new VirtualClock();
  const terminal = new FakeTerminal();
  const screen = new LiveScreen({ terminal, clock, render: () => ['line'] });
  for (let ms = 0; ms < 2000; ms += 10) {
    screen.request();
    await clock.advance(10);
  }
  expect(terminal.frames).toBeLessThanOrEqual(11);
  expect(terminal.frames).toBeGreaterThanOrEqual(9);
  screen.close();
});

it('draws once a second without changes, and not after close', async () => {
  const clock = new VirtualClock();
  const terminal = new FakeTerminal();
  const screen = new LiveScreen({ terminal, clock, render: () => ['line'] });
  await clock.advance(5_000);
  expect(terminal.frames).toBe(6);
  screen.close();
  const { frames } = terminal;
  await clock.advance(5_000);
  terminal.emit('resize');
  expect(terminal.frames).toBe(frames);
});

it('hides the cursor, and shows it after close', () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen({ terminal, clock: new VirtualClock(), render: () => ['line'] });
  expect(terminal.text.startsWith('\u001b[?25l')).toBe(true);
  screen.close();
  expect(terminal.text.endsWith('\u001b[?25h')).toBe(true);
});

it('redraws lines that a narrower screen has wrapped', () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen({ terminal, clock: new VirtualClock(), render: () => ['x'.repeat(40), 'y'] });
  terminal.columns = 20;
  terminal.text = '';
  terminal.emit('resize');
  expect(terminal.text).toContain('\u001b[3A');
  screen.close();
});

it('assumes 80 by 24 for a terminal without a size', () => {
  const terminal = Object.assign(new FakeTerminal(), { columns: 0, rows: 0 });
  const seen: { columns: number; rows: number }[] = [];
  const screen = new LiveScreen({
    terminal,
    clock: new VirtualClock(),
    render: (size) => {
      seen.push(size);
      return ['line'];
    },
  });
  screen.close();
  expect(seen[0]).toEqual({ columns: 80, rows: 23 });
});
