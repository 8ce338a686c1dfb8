// Tier: full. It parses texts of 16 MiB many times, to measure processor time and memory.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHttpClient, MEBIBYTE } from '../../src/core/http/client.ts';
import { costOf, MOST_VALUES, parseJson } from '../../src/core/model/json.ts';
import { openServer, TOO_LARGE, times } from './answering-server.ts';
import { costlyJson, LARGEST_JSON_BYTES, members } from './costly-json.ts';

/*
 * Attack: a server sends JSON that costs far more than its size, in one of many forms. Each run draws the forms and their parameters at
 * random; fast-check names the seed of a failure. Processor time is that of this thread, which serves all tenants.
 */

/**
 * About five times the largest time on an idle host: on a busy host, other processes empty the processor's caches. An unlimited form takes
 * seconds. Lists are parsed in short pieces (`clinic/read/list-page`).
 */
const LONGEST_PAUSE_MS = 400;
/** Measured times are compared with those of the same host at the same moment. A busy host adds up to 40 ms; an attack took seconds. */
const LEAST_MS = 250;

/** The minimum of five runs, because other work of the process and the host adds to each. */
function costMs(work: () => unknown): number {
  const once = () => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  return Math.min(once(), once(), once(), once(), once());
}

/** The least work of any check: reading each byte. */
function scan(text: Uint8Array): number {
  let quotes = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === 0x22) quotes += 1;
    else if (text[at] === 0x5c) at += 1;
  }
  return quotes;
}

/** What {@link scan} of the largest text takes on the slowest host that meets {@link LONGEST_PAUSE_MS}. */
const REFERENCE_SCAN_MS = 25;
const largest = Buffer.alloc(LARGEST_JSON_BYTES, 'a');
const slowness = () => Math.max(1, costMs(() => scan(largest)) / REFERENCE_SCAN_MS);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** Nothing else runs between two measurements, because the parser is synchronous. */
const heldBytes = () => {
  collect();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
};

test('whatever its form, JSON is refused for the cost of a scan, or parsed without a long pause or much memory', () => {
  const verdicts = { refused: 0, parsed: 0 };
  fc.assert(
    fc.property(costlyJson, ({ text: written }) => {
      const text = Buffer.from(written());
      const isRefused = costOf(text, MOST_VALUES) === Infinity;
      verdicts[isRefused ? 'refused' : 'parsed'] += 1;
      const milliseconds = costMs(() => parseJson(text));
      if (isRefused) expect(milliseconds).toBeLessThan(1.5 * costMs(() => scan(text)) + LEAST_MS);
      expect(milliseconds).toBeLessThan(LONGEST_PAUSE_MS * slowness());
      const heldBefore = heldBytes();
      const value = parseJson(text);
      const held = heldBytes() - heldBefore;
      expect(value === undefined || !isRefused).toBe(true);
      expect(held).toBeLessThan(isRefused ? MEBIBYTE : 4 * text.length + 100 * MOST_VALUES);
    }),
    { numRuns: 60, endOnFailure: true },
  );
  expect(Math.min(verdicts.refused, verdicts.parsed)).toBeGreaterThan(0);
}, 300_000);

test('a library that parses an answer itself does not receive a costly one', async () => {
  const { url } = await openServer({}, () => times(1, Buffer.from(` ${members(150_000, (at) => `k${at}`)}`)));
  const httpClient = createHttpClient({ userAgent: 'test', clock: Date.now });
  await expect(httpClient.asFetch('x', undefined, LARGEST_JSON_BYTES)(url)).rejects.toMatchObject({
    ...TOO_LARGE,
    message: expect.stringMatching(/^the answer has more than 600000 values.*: 127\.0\.0\.1:\d+$/),
  });
});
