ALTER TABLE "backups" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "verification_admitted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "verification_failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "drills" ADD COLUMN "admitted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "drills" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "storage_tasks" ADD COLUMN "admitted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "storage_tasks" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "backups_verifying" ON "backups" USING btree ("organization_id","id") WHERE "backups"."verification"->>'status' = 'running';--> statement-breakpoint
CREATE INDEX "drills_open" ON "drills" USING btree ("organization_id","id") WHERE "drills"."status" in ('pending', 'running');--> statement-breakpoint
CREATE INDEX "storage_tasks_open" ON "storage_tasks" USING btree ("organization_id","id") WHERE "storage_tasks"."status" in ('pending', 'running');