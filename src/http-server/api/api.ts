import type { FastifyInstance } from 'fastify';
import type { OperatorDesk } from '../operator-desk.ts';

/** Below it stands the API. */
export const API_PATH = '/api/v1';

/** Adds the API for operators. */
export function addApi(_app: FastifyInstance, _desk: OperatorDesk): void {}
