CREATE TABLE "periodic_tasks" (
	"name" text PRIMARY KEY NOT NULL,
	"every_ms" bigint NOT NULL,
	"registered_at" timestamp (3) with time zone NOT NULL,
	"succeeded_at" timestamp (3) with time zone,
	"error" text
);
--> statement-breakpoint
ALTER TABLE "periodic_tasks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "troubles" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"subject_id" text NOT NULL,
	"words" jsonb NOT NULL,
	"began_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"begin_told_at" timestamp (3) with time zone,
	"end_told_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "troubles" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "notifications" jsonb;--> statement-breakpoint
ALTER TABLE "troubles" ADD CONSTRAINT "troubles_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "troubles_one_open" ON "troubles" USING btree ("organization_id","kind","subject_id") WHERE "troubles"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "troubles_untold" ON "troubles" USING btree ("organization_id","began_at") WHERE "troubles"."begin_told_at" is null or ("troubles"."ended_at" is not null and "troubles"."end_told_at" is null);--> statement-breakpoint
CREATE INDEX "troubles_by_age" ON "troubles" USING btree ("ended_at");--> statement-breakpoint
CREATE POLICY "system" ON "periodic_tasks" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "troubles" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("troubles"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("troubles"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "troubles" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);