/** What eviction, garbage collection or a shutdown would do now, in the words of `nodelet what-if`. Nothing is done. */
import { useEffect, useState } from 'preact/hooks';
import { evictionText, garbageText, shutdownText } from '../../src/cli/print/what-if-text.js';
import type {
  EvictionOutlook,
  GarbageOutlook,
  ShutdownOutlook,
} from '../../src/kubelet/what-if/contracts.js';
import { askJson } from '../node/ask.js';
import { Scroll } from '../parts/scroll.js';

const shownItems = 200;

/** The node is the same program: its answers have the types of the questions. */
const questions = [
  {
    key: 'evict',
    title: 'Eviction',
    text: (answer: unknown) => evictionText(answer as EvictionOutlook, shownItems),
  },
  {
    key: 'gc',
    title: 'Garbage collection',
    text: (answer: unknown) => garbageText(answer as GarbageOutlook, shownItems),
  },
  {
    key: 'shutdown',
    title: 'A shutdown of the machine',
    text: (answer: unknown) => shutdownText(answer as ShutdownOutlook, shownItems),
  },
] as const;

export function WhatIfView() {
  const [asked, askAnew] = useState({});
  return (
    <>
      <div class="heading">
        <h1>What if</h1>
        <p>What would happen now, in which order and why. Nothing is done.</p>
        <button type="button" onClick={() => askAnew({})}>
          Ask again
        </button>
      </div>
      {questions.map((question) => (
        <Answer key={question.key} question={question} asked={asked} />
      ))}
    </>
  );
}

function Answer({
  question,
  asked,
}: {
  readonly question: (typeof questions)[number];
  readonly asked: object;
}) {
  const [said, setSaid] = useState('…');
  useEffect(() => {
    const over = new AbortController();
    askJson<unknown>(`/debug/what-if/${question.key}`, over.signal)
      .then((answer) => setSaid(question.text(answer).trimEnd()))
      .catch((error: unknown) => {
        if (!over.signal.aborted) setSaid(error instanceof Error ? error.message : String(error));
      });
    return () => over.abort();
  }, [asked]);
  return (
    <section class="sheet" aria-labelledby={`if-${question.key}`}>
      <h2 id={`if-${question.key}`}>{question.title}</h2>
      <Scroll pre label={question.title}>
        {said}
      </Scroll>
    </section>
  );
}
