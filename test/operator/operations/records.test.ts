import { beforeEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { openApiWorld } from '../control/services-world.ts';
import { AURORA } from '../http-server/open-services.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

describe('an explanation', () => {
  test('shows for each target whether it contains an appointment and why', async () => {
    const { status, body } = await world.as('viewer')('GET', `/tenants/${AURORA}/appointments/a/explanation`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      source: { state: 'there' },
      askedAt: expect.any(Number),
      lastCycle: { run: expect.any(String), completeness: 'complete', error: null },
      targets: [
        {
          ...{ target: 'doctor', decision: { shown: true, code: 'shown' } },
          way: {
            compared: { at: expect.any(Number), found: 'same', fields: [] },
            written: { at: null, changes: [] },
            readBack: { at: null, covers: false },
          },
        },
      ],
    });
  });

  test('reports an appointment that the clinic lacks', async () => {
    const { body } = await world.as('viewer')('GET', `/tenants/${AURORA}/appointments/zz%2F9/explanation`);
    expect(body).toMatchObject({ appointment: 'zz/9', source: { state: 'absent' } });
  });
});
