import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { type ListeningServer, listen } from '../../../src/operator/http-server/app.ts';
import { createOperatorServer } from '../../../src/operator/http-server/operator-server.ts';
import type { OperatorVerbs } from '../../../src/operator/http-server/verbs.ts';

/** An open port; `verbs` replaces some. */
async function openPort(verbs: Partial<OperatorVerbs> = {}, port = 0): Promise<ListeningServer> {
  const all: OperatorVerbs = {
    ...{ readiness: async () => [], problems: async () => [], metrics: async () => '' },
    ...verbs,
  };
  const app = createOperatorServer(all, { token: null, log: silentLogger });
  onTestFinished(async () => (await app).close());
  return listen(app, 'operator', { host: '127.0.0.1', port });
}

describe('an open port', () => {
  test('answers over the network, and closes', async () => {
    const port = await openPort();
    const answer = await fetch(`http://127.0.0.1:${port.port}/healthz`);
    expect(await answer.json()).toEqual({ alive: true });
    await port.close(1_000);
    await expect(fetch(`http://127.0.0.1:${port.port}/healthz`)).rejects.toThrow();
  });

  test('lets a running request end', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { promise: text, resolve: answerWith } = Promise.withResolvers<string>();
    const port = await openPort({
      metrics: () => {
        asked();
        return text;
      },
    });
    const answer = fetch(`http://127.0.0.1:${port.port}/metrics`);
    await isAsked;
    const closed = port.close(10_000);
    answerWith('late 1\n');
    expect(await (await answer).text()).toBe('late 1\n');
    await closed;
  });

  test('closes within its deadline although a request never ends and a client says nothing', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const port = await openPort({
      metrics: () => {
        asked();
        return new Promise(() => {});
      },
    });
    const silent = connect(port.port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void silent.destroy());
    const answer = fetch(`http://127.0.0.1:${port.port}/metrics`).then(
      () => 'answered',
      () => 'cut off',
    );
    await isAsked;
    await port.close(200);
    expect(await answer).toBe('cut off');
  });

  test('that is taken already is an error of the settings', async () => {
    const port = await openPort();
    await expect(openPort({}, port.port)).rejects.toMatchObject({
      actor: 'settings',
      code: 'http-port-unavailable',
      message: `cannot open the port of operator: 127.0.0.1:${port.port} is taken by another process`,
      remedy: expect.stringContaining('operator.port'),
    });
  });
});
