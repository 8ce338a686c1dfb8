import { Client, type Context, HTTPMessageHandler, type Middleware } from '@microsoft/microsoft-graph-client';
import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, DOCTOR, IMMUTABLE, property, startBench } from './support.ts';

/** Adds the token itself, since the client's handler omits it for a plain-http host. */
class WithToken implements Middleware {
  readonly #token: string;
  #next: Middleware | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  async execute(context: Context): Promise<void> {
    const headers = new Headers(context.options?.headers);
    headers.set('authorization', `Bearer ${this.#token}`);
    context.options = { ...context.options, headers };
    await this.#next?.execute(context);
  }

  setNext(next: Middleware): void {
    this.#next = next;
  }
}

async function startWithClient(): Promise<Bench & { client: Client }> {
  const bench = await startBench();
  const first = new WithToken(bench.sandbox.issueAccessToken(DOCTOR));
  first.setNext(new HTTPMessageHandler());
  const client = Client.initWithMiddleware({ middleware: first, baseUrl: `${bench.sandbox.graphUrl}/` });
  return { ...bench, client };
}

describe('the vendor’s own client', () => {
  it('writes, reads and deletes events', async () => {
    const { client, sandbox } = await startWithClient();
    const events = client.api(`/users/${DOCTOR}/events`);
    const made = await events.header('Prefer', IMMUTABLE.prefer).post(anEvent({ transactionId: 'key-1' }));
    expect(sandbox.event(DOCTOR, made.id)).toMatchObject({ id: made.id, transactionId: 'key-1' });
    const one = `/me/events/${made.id}`;
    const changed = await client.api(one).header('If-Match', made['@odata.etag']).patch({ subject: 'Changed' });
    expect(changed.subject).toBe('Changed');
    const refused = client.api(one).header('If-Match', made['@odata.etag']).patch({ subject: 'Late' });
    await expect(refused).rejects.toMatchObject({ statusCode: 412, code: 'ErrorIrresolvableConflict' });
    await client.api(one).delete();
    await expect(client.api(one).get()).rejects.toMatchObject({ statusCode: 404, code: 'ErrorItemNotFound' });
    const again = client.api('/me/events').post(anEvent({ transactionId: 'key-1' }));
    await expect(again).rejects.toMatchObject({ statusCode: 409, code: 'ErrorDuplicateTransactionId' });
  });

  it('filters by extended property, expands and follows pages', async () => {
    const { client, sandbox } = await startWithClient();
    const calendar = await client.api('/me/calendars').post({ name: 'Mirror' });
    for (const day of [1, 2, 3, 4, 5]) {
      const singleValueExtendedProperties = [{ id: property('MirrorMark'), value: `mark ${day % 2}` }];
      sandbox.addByHand(DOCTOR, calendar.id, anEvent({ subject: `Day ${day}`, singleValueExtendedProperties }, day));
    }
    let page = await client
      .api(`/me/calendars/${calendar.id}/events`)
      .filter(`singleValueExtendedProperties/Any(ep: ep/id eq '${property('MirrorMark')}' and ep/value eq 'mark 1')`)
      .expand(`singleValueExtendedProperties($filter=id eq '${property('MirrorMark')}')`)
      .select('subject')
      .top(2)
      .get();
    const events = [...page.value];
    while (page['@odata.nextLink'] !== undefined) {
      // The client parses absolute URLs only with https.
      page = await client.api(page['@odata.nextLink'].replace(`${sandbox.graphUrl}/v1.0`, '')).get();
      events.push(...page.value);
    }
    for (const event of events) {
      expect(event.singleValueExtendedProperties).toEqual([{ id: property('MirrorMark'), value: 'mark 1' }]);
    }
    const subjects = events.map((event) => event.subject);
    expect(subjects).toEqual(['Day 1', 'Day 3', 'Day 5']);
  });

  it('sends batches and sees faults', async () => {
    const { client, sandbox } = await startWithClient();
    const requests = [
      { id: '1', method: 'POST', url: '/me/events', headers: { 'Content-Type': 'application/json' }, body: anEvent() },
      { id: '2', method: 'GET', url: '/me' },
    ];
    const { responses } = await client.api('/$batch').post({ requests });
    expect(responses.map(({ status }: { status: number }) => status).sort()).toEqual([200, 201]);
    sandbox.faults.add({ times: 1, fault: { kind: 'status', status: 507 } });
    await expect(client.api('/me/events').post(anEvent())).rejects.toMatchObject({
      statusCode: 507,
      code: 'InsufficientStorage',
    });
    sandbox.faults.add({ times: 1, fault: { kind: 'lost-answer' } });
    await expect(client.api('/me/events').post(anEvent())).rejects.toThrow();
    expect(sandbox.events(DOCTOR, 'default')).toHaveLength(2);
  });
});
