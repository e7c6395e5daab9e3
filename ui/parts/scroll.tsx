/** What may be wider than its place: it scrolls, by the keyboard, too, which stops at it only while there is something to scroll. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface ScrollProps {
  /** What is in it, for those who reach it by the keyboard. */
  readonly label: string;
  readonly children: ComponentChildren;
  /** Lines of a program, as they are. */
  readonly pre?: boolean;
}

export function Scroll({ label, children, pre = false }: ScrollProps) {
  const place = useRef<HTMLElement | null>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const measure = (): void => setOverflows(current.scrollWidth > current.clientWidth);
    const sizes = new ResizeObserver(measure);
    sizes.observe(current);
    // What is in it may grow while it does not.
    const contents = new MutationObserver(measure);
    contents.observe(current, { subtree: true, childList: true, characterData: true });
    measure();
    return () => {
      sizes.disconnect();
      contents.disconnect();
    };
  }, []);
  const common = {
    ref: (element: HTMLElement | null) => {
      place.current = element;
    },
    ...(overflows ? { tabIndex: 0, role: 'group' as const, 'aria-label': label } : {}),
  };
  return pre ? (
    <pre class="wide" {...common}>
      {children}
    </pre>
  ) : (
    <div class="scroll" {...common}>
      {children}
    </div>
  );
}
