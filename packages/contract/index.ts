export * from './access.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './operation.ts';
export * from './operations/index.ts';
export * from './schemas/primitives.ts';
