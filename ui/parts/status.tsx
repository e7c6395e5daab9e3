/** A state in words, with a sign of its kind that does not need its colour to be told apart. */
import { toneOf } from '../../src/cli/run/pod-view.js';

const signs = { good: '●', bad: '▲', busy: '◐', quiet: '○' } as const;

export function Status({
  text,
  tone = toneOf(text) ?? 'quiet',
}: {
  readonly text: string;
  readonly tone?: keyof typeof signs | undefined;
}) {
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{signs[tone]} </span>
      {text}
    </span>
  );
}
