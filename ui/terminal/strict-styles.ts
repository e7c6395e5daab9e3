/**
 * xterm writes style elements and style attributes, which the security policy of the page refuses, as it does those of anybody
 * else. What it writes goes to style sheets and style declarations of scripts instead, which the policy lets pass.
 */

/** Call this once, before a terminal opens; it lasts as long as the page. */
export function passStylesByScript(): void {
  if (isPassing) return;
  isPassing = true;
  const create = document.createElement.bind(document);
  const made = (name: string, options?: ElementCreationOptions): HTMLElement => {
    // The policy reports a style element even before anything is in it.
    if (name === 'style') return adoptSheet(create('meta'));
    const element = create(name, options);
    if (name === 'span' || name === 'div') declareStyle(element);
    return element;
  };
  // The overloads of createElement all return what `create` made.
  document.createElement = made as typeof document.createElement;
}

let isPassing = false;

function adoptSheet(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', { set: (css: string) => sheet.replaceSync(css) });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    remove();
  };
  return element;
}

function declareStyle(element: HTMLElement): void {
  const set = element.setAttribute.bind(element);
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else set(name, value);
  };
}
