/** Redraws a block of lines at the bottom of a terminal in place, with permanent lines above it. */
import type { Clock, Timer } from '../../async/index.js';
import type { ScreenSize } from './table.js';

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

const csi = '\u001b[';
const hideCursor = `${csi}?25l`;
const showCursor = `${csi}?25h`;
/** Synchronized output: the terminal shows everything in between at once. Terminals without it ignore it. */
const beginFrame = `${csi}?2026h`;
const endFrame = `${csi}?2026l`;
/** A line that is too long must not wrap. */
const wrapOff = `${csi}?7l`;
const wrapOn = `${csi}?7h`;
const clearToEndOfLine = `${csi}K`;
const clearBelow = `${csi}J`;

const minFrameMs = 200;
/** Ages and back-offs change without an event. */
const tickMs = 1_000;

export interface LiveScreenOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly render: (size: ScreenSize) => readonly string[];
}

export class LiveScreen {
  readonly #options: LiveScreenOptions;
  readonly #onResize = (): void => this.#draw();
  readonly #onExit = (): void => this.#restore();
  #drawn: readonly string[] = [];
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isOpen = true;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
    const { terminal } = options;
    terminal.write(hideCursor);
    terminal.on('resize', this.#onResize);
    process.on('exit', this.#onExit);
    this.#draw();
  }

  /** Draws soon. Combines many requests into one frame. */
  request(): void {
    if (!this.#isOpen) return;
    const waitMs = Math.max(0, this.#drawnAtMs + minFrameMs - this.#options.clock.monotonic());
    this.#schedule(waitMs);
  }

  /** Draws at once. */
  drawNow(): void {
    this.#draw();
  }

  /** Prints a permanent line above the block. */
  note(line: string): void {
    const { terminal } = this.#options;
    if (!this.#isOpen) {
      terminal.write(`${line}\n`);
      return;
    }
    terminal.write(`${beginFrame}${this.#home()}${clearBelow}${line}\n`);
    this.#drawn = [];
    this.#draw();
    terminal.write(endFrame);
  }

  /** Draws the last frame, which stays, and restores the terminal. */
  close(): void {
    if (!this.#isOpen) return;
    this.#draw();
    this.#timer?.cancel();
    this.#isOpen = false;
    const { terminal } = this.#options;
    terminal.off('resize', this.#onResize);
    process.off('exit', this.#onExit);
    terminal.write(showCursor);
  }

  #restore(): void {
    if (this.#isOpen) this.#options.terminal.write(`${wrapOn}${showCursor}`);
  }

  #schedule(waitMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(waitMs, () => this.#draw());
  }

  #draw(): void {
    if (!this.#isOpen) return;
    const { terminal, clock, render } = this.#options;
    const { columns, rows } = sizeOf(terminal);
    // One row stays free: a line feed after the last line would scroll.
    const lines = render({ columns, rows: Math.max(1, rows - 1) });
    const body = lines.map((line) => `${line}${clearToEndOfLine}\n`).join('');
    terminal.write(`${beginFrame}${wrapOff}${this.#home()}${body}${clearBelow}${wrapOn}${endFrame}`);
    this.#drawn = lines;
    this.#drawnAtMs = clock.monotonic();
    this.#schedule(tickMs);
  }

  /** Moves to the start of the block. A narrower screen may have wrapped its lines. */
  #home(): string {
    const { columns, rows } = sizeOf(this.#options.terminal);
    const up = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(visible(line) / columns)), 0);
    return up === 0 ? '\r' : `\r${csi}${Math.min(up, rows - 1)}A`;
  }
}

function visible(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  return [...line.replace(/\u001b\[[0-9;]*m/g, '')].length;
}

/** A terminal without a known size reports undefined or 0. */
function sizeOf({ columns, rows }: Pick<Terminal, 'columns' | 'rows'>): ScreenSize {
  return { columns: columns || 80, rows: rows || 24 };
}
