import type { FastifyInstance } from 'fastify';
import type { OperatorDesk } from '../operator-desk.ts';

/** Adds the pages for operators. */
export function addPages(_app: FastifyInstance, _desk: OperatorDesk): void {}
