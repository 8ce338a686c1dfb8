export { compileMapping } from './compile.ts';
export type { InvoiceFacts, Mapped, MappedRecord, Mapping, MappingFault, MappingSource } from './contract.ts';
export { createEvaluator, type EvaluateExpressions, EXPRESSION_LIMITS, type ExpressionLimits } from './evaluate.ts';
export { answerRequest, type ExpressionThread, type ThreadAnswer, type ThreadRequest } from './thread.ts';
