import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/operator/http-server/api/routes.ts';
import { useRedis } from '../../../support/redis.ts';
import { openApiWorld } from '../../control/services-world.ts';

const redis = useRedis();

let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeAll(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1, and describes every route', async () => {
    const { status, body } = await world.as('viewer')('GET', '/openapi.json');
    expect(status).toBe(200);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(body);
    expect([errors ?? [], valid, validator.version]).toEqual([[], true, '3.1']);
    const operations = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(operations.length).toBeGreaterThan(30);
    expect(operations.sort()).toEqual(
      ROUTES.map(({ method, path, name }) => `${method.toLowerCase()} /api/v1${path} ${name}`).sort(),
    );
  });

  test('gives every operation a unique name', () => {
    const names = ROUTES.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
