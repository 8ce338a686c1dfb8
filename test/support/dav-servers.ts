import { afterAll, beforeAll, beforeEach } from 'vitest';
import { startCyrus } from '../../tools/cyrus.ts';
import type { DavUser, PrivateDavServer } from '../../tools/dav-server.ts';
import { ServerUnavailable } from '../../tools/server-command.ts';
import { startXandikos } from '../../tools/xandikos.ts';

/** Long enough to fetch a server. */
const START_TIMEOUT_MS = 600_000;

/**
 * Gives the test file (or a `describe`) a private Xandikos. If Xandikos is unavailable, the tests are skipped with the reason, also in
 * continuous integration.
 */
export function useXandikos(users?: readonly DavUser[]): () => PrivateDavServer {
  return useServer('Xandikos', () => startXandikos(users));
}

/** The same with a Cyrus IMAP. */
export function useCyrus(users?: readonly DavUser[]): () => PrivateDavServer {
  return useServer('Cyrus IMAP', () => startCyrus(users));
}

function useServer(name: string, start: () => Promise<PrivateDavServer>): () => PrivateDavServer {
  let running: PrivateDavServer | undefined;
  let unavailable: string | undefined;

  beforeAll(async () => {
    try {
      running = await start();
    } catch (error) {
      if (!(error instanceof ServerUnavailable)) throw error;
      unavailable = error.message;
      console.info(`Tests that need ${name} are skipped. ${unavailable}`);
    }
  }, START_TIMEOUT_MS);
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await running?.stop();
    running = undefined;
  });

  return () => {
    if (running === undefined) throw new Error(`the ${name} of this file exists in tests and hooks only`);
    return running;
  };
}
