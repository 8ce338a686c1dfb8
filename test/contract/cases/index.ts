import type { ContractCase } from '../contract-case.ts';
import { repetition } from './repetition.ts';

/** Every case of the contract, in the order of the table. */
export const cases: readonly ContractCase[] = [...repetition];
