import { expect, test } from 'vitest';
import { ReceivedBytes } from '../../../src/core/http/received-bytes.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';

/** A chunk with memory of its own, as a socket has it. */
const own = (text: string): Buffer => {
  const memory = new ArrayBuffer(text.length);
  const chunk = Buffer.from(memory);
  chunk.write(text);
  return chunk;
};
const textOf = (bytes: ReceivedBytes) => atOnce(bytes.joined()).toString();

test('chunks are read in order, joined or one by one', () => {
  const bytes = new ReceivedBytes([own('ab'), own('c'), own('def')]);
  expect([...bytes].map(String)).toEqual(['ab', 'c', 'def']);
  expect(textOf(bytes)).toBe('abcdef');
  expect(textOf(bytes)).toBe('abcdef');
  expect([...bytes].map(String)).toEqual(['abcdef']);
});

test.each([[[]], [['abc']]])('an answer of %j has its bytes without a copy', (chunks) => {
  const received = chunks.map(own);
  const bytes = new ReceivedBytes(received);
  expect(textOf(bytes)).toBe(chunks.join(''));
  expect(received.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length));
});

test('joined chunks free their memory at once, and released bytes too', () => {
  const chunks = [own('ab'), own('cd')];
  const bytes = new ReceivedBytes(chunks);
  const body = atOnce(bytes.joined());
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0]);
  bytes.release();
  bytes.release();
  expect(body.buffer.byteLength).toBe(0);
  expect(() => [...bytes]).toThrow('not read again');
  expect(() => textOf(bytes)).toThrow('not read again');
});

test('a chunk that shares its memory with other data keeps it', () => {
  const shared = own('abcd');
  const bytes = new ReceivedBytes([shared.subarray(0, 2), own('x')]);
  expect(textOf(bytes)).toBe('abx');
  bytes.release();
  expect(shared.toString()).toBe('abcd');
});

test('two readers at the same time get the same bytes', () => {
  const bytes = new ReceivedBytes([own('ab'), own('cd'), own('ef')]);
  const [one, other] = [bytes.joined(), bytes.joined()];
  one.next();
  other.next();
  expect([atOnce(one), atOnce(other)].map(String)).toEqual(['abcdef', 'abcdef']);
});
