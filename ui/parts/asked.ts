/** The answer to a question that is asked again and again while somebody looks. */
import { useEffect, useState } from 'preact/hooks';
import { askJson } from '../node/ask.js';

export type Asked<T> =
  | { readonly kind: 'asking' }
  | { readonly kind: 'told'; readonly answer: T }
  | { readonly kind: 'refused'; readonly why: string };

export function useAsked<T>(path: string, periodMs: number): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ kind: 'asking' });
  useEffect(() => {
    const over = new AbortController();
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') return;
      try {
        setAsked({ kind: 'told', answer: await askJson<T>(path, over.signal) });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        if (!over.signal.aborted) setAsked({ kind: 'refused', why });
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), periodMs);
    return () => {
      clearInterval(timer);
      over.abort();
    };
  }, [path, periodMs]);
  return asked;
}
