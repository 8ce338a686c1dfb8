import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import type { PrivateDavServer } from '../../tools/dav-server.ts';
import { type StartRadicaleOptions, startRadicale } from '../../tools/radicale.ts';

/**
 * Gives the test file (or a `describe`) a private Radicale, with empty storage before its first test. If Radicale is missing, the tests
 * are skipped with the reason; in continuous integration the whole run fails.
 *
 *     const radicale = useRadicale();
 *     test('…', async () => { await fetch(`${radicale().url}/clinic/`); … });
 */
export function useRadicale(options: Omit<StartRadicaleOptions, 'server'> = {}): () => PrivateDavServer {
  let running: PrivateDavServer | undefined;
  let unavailable: string | undefined;

  beforeAll(async () => {
    const server = inject('radicaleServer');
    const started = 'unavailable' in server ? server : await startRadicale({ ...options, server });
    if ('unavailable' in started) unavailable = started.unavailable;
    else running = started;
  });
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await running?.stop();
    running = undefined;
  });

  return () => {
    if (running === undefined) throw new Error('the Radicale of useRadicale() exists in tests and hooks only');
    return running;
  };
}
