// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, test } from 'vitest';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { createMcpServer } from '../../../src/operator/mcp-server/server.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from '../control/open-installation.ts';
import { contextWith } from '../operations/run-operation.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const TOOLS = ['explain', 'health', 'holds', 'problems', 'runs', 'status'];
/** Data of a patient. No answer may contain it. */
const CANARIES = ['Canarinella', 'Zwxyquist', 'pat-7731', '4711'];

/** A clinic with an appointment that its calendar refuses, and a client of the server over it. */
async function open(): Promise<{ client: Client; installation: Installation }> {
  const clinic = createModelClinic();
  const patient = { id: 'pat-7731', firstName: 'Canarinella', lastName: 'Zwxyquist' };
  for (const id of ['apt-1', 'apt-2', 'record-4711']) {
    clinic.appointments.set(id, appointmentOf(id, { patientId: patient.id, patient }));
  }
  const model = createModelTarget();
  model.fault = ({ recordId }) => (recordId === 'record-4711' ? 'refused' : null);
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
  await cycle(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(contextWith({ installation }), '0.1.0').connect(ours);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(theirs);
  return { client, installation };
}

const ask = (client: Client, name: string, given: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: given });

describe('the server for assistants', () => {
  test('has tools that look and none that changes anything, each with a schema of its answer', async () => {
    const { client } = await open();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(TOOLS);
    for (const { annotations, outputSchema, description } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(outputSchema?.type).toBe('object');
      expect(description).not.toBe('');
    }
  });

  test('answers why an appointment is not in its calendar, and what the matter is', async () => {
    const { client } = await open();
    // The client checks each answer by its schema.
    const { structuredContent: story } = await ask(client, 'explain', { tenant: TENANT, appointment: 'apt-1' });
    expect(story).toMatchObject({
      source: { state: 'there' },
      targets: [{ target: 'doctor', shown: true, isThere: true }],
    });
    const { structuredContent: told } = await ask(client, 'problems');
    expect(told).toMatchObject({
      problems: [
        { tenant: TENANT, code: 'writes-failed', health: 'retrying', next: `clinic-mirror health ${TENANT} doctor` },
      ],
    });
    const { structuredContent: health } = await ask(client, 'health', { tenant: TENANT });
    expect(health).toMatchObject({ targets: [{ target: 'doctor', inSync: 2, failing: { refused: 1 } }] });
    const { structuredContent: status } = await ask(client, 'status', { tenant: TENANT });
    expect(status).toMatchObject({ tenants: [{ tenant: TENANT, problems: 1, targets: [{ failing: 1 }] }] });
  });

  test('shows no patient data in any tool', async () => {
    const { client } = await open();
    for (const name of TOOLS) {
      const given = name === 'explain' ? { tenant: TENANT, appointment: 'apt-2' } : { tenant: TENANT };
      const answer = await ask(client, name, given);
      expect(answer.isError, name).not.toBe(true);
      for (const canary of CANARIES) expect(JSON.stringify(answer), name).not.toContain(canary);
    }
  });

  test('says of an error what to do', async () => {
    const { client } = await open();
    const { isError, content } = await ask(client, 'status', { tenant: 'nowhere' });
    expect([isError, content]).toEqual([
      true,
      [{ type: 'text', text: 'tenant "nowhere" does not exist (no-such-tenant). To do: use one of: studio-rossi' }],
    ]);
  });
});
