export { compileMapping } from './compile.ts';
export type { InvoiceFacts, Mapped, Mapping, MappingSource } from './contract.ts';
export { createEvaluator, type EvaluateExpressions, EXPRESSION_LIMITS } from './evaluate.ts';
export type { ExpressionThread } from './thread.ts';
