/** A simulated process: a program on a clock, with a timer only while a step waits for a finite time. */
import type { Clock, Timer } from '../../async/index.js';
import type { Program, ProgramStep } from './program.js';

export interface SimProcessOptions {
  readonly clock: Clock;
  readonly program: Program;
  readonly print: (stream: 'stdout' | 'stderr', line: string) => void;
  /** Echoes input. */
  readonly copy?: (bytes: Buffer) => void;
  /** Called when it starts to read its input; absent: the input is at its end from the start. */
  readonly onReading?: () => void;
  /** Called once; `killed` when SIGKILL ended it. */
  readonly onExit: (exitCode: number, killed: boolean) => void;
}

export class SimProcess {
  readonly #clock: Clock;
  readonly #program: Program;
  readonly #print: SimProcessOptions['print'];
  readonly #onExit: SimProcessOptions['onExit'];
  readonly #copy: SimProcessOptions['copy'];
  readonly #onReading: SimProcessOptions['onReading'];
  #steps: readonly ProgramStep[];
  #next = 0;
  #timer: Timer | undefined;
  #waiting: 'no' | 'interruptible' | 'uninterruptible' = 'no';
  #term: 'none' | 'pending' | 'taken' = 'none';
  #reading = false;
  #inputEnded: boolean;
  #exited = false;

  constructor(options: SimProcessOptions) {
    this.#clock = options.clock;
    this.#program = options.program;
    this.#print = options.print;
    this.#onExit = options.onExit;
    this.#copy = options.copy;
    this.#onReading = options.onReading;
    this.#inputEnded = options.onReading === undefined;
    this.#steps = options.program.steps;
  }

  start(): void {
    this.#run();
  }

  /** Whether it would read input now. */
  get reading(): boolean {
    return this.#reading;
  }

  /** Only while it reads; input is not buffered. */
  input(bytes: Buffer): void {
    if (this.#reading) this.#copy?.(bytes);
  }

  endInput(): void {
    this.#inputEnded = true;
    if (this.#reading) this.#run();
  }

  /** SIGTERM; a running handler is not started again. */
  terminate(): void {
    if (this.#exited || this.#term !== 'none' || this.#program.onTerm === 'ignore') return;
    this.#term = 'pending';
    if (this.#waiting === 'interruptible') this.#run();
  }

  /** SIGKILL. */
  kill(): void {
    this.#exit(137, true);
  }

  #exit(code: number, killed: boolean): void {
    if (this.#exited) return;
    this.abandon();
    this.#onExit(code, killed);
  }

  /** Ends it without notice, as when the machine goes down. */
  abandon(): void {
    this.#exited = true;
    this.#reading = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #run(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting = 'no';
    this.#reading = false;
    while (!this.#exited) {
      if (this.#term === 'pending' && this.#program.onTerm !== 'ignore') {
        this.#term = 'taken';
        this.#steps = this.#program.onTerm;
        this.#next = 0;
      }
      const step = this.#steps[this.#next++];
      if (step === undefined) {
        this.#exit(0, false);
        return;
      }
      switch (step.do) {
        case 'print':
          this.#print(step.stream, step.line);
          break;
        case 'exit':
          this.#exit(step.code, false);
          break;
        case 'copy-input':
          if (this.#inputEnded) break;
          this.#waiting = 'interruptible';
          this.#reading = true;
          this.#onReading?.();
          return;
        case 'sleep':
          this.#waiting = step.interruptible ? 'interruptible' : 'uninterruptible';
          if (step.durationMs !== Number.POSITIVE_INFINITY) {
            this.#timer = this.#clock.setTimer(step.durationMs, () => this.#run());
          }
          return;
      }
    }
  }
}
