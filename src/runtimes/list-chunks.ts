/** Splits lists into messages small enough for any receiver. */

/** Entries in one message of a list stream. */
const chunkLength = 1000;

export function* listChunks<Item, Message>(
  items: readonly Item[],
  message: (items: Item[]) => Message,
): Generator<Message, void, undefined> {
  for (let start = 0; start < items.length; start += chunkLength) {
    yield message(items.slice(start, start + chunkLength));
  }
}
